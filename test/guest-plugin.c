/* SPDX-License-Identifier: MIT */
/* guest-plugin.c - a library that comes and goes. */
void plugin_work(int n);

static volatile unsigned work;

void plugin_work(int n)
{
    while (n-- > 0)
        work = work * 1103515245u + 12345u;
}
