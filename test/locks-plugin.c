/* SPDX-License-Identifier: MIT */
/* locks-plugin.c - code that is unloaded while its lock was waited for, and held. */
#include <pthread.h>
#include <time.h>

static pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

int plugin_count(int is_slow);
void plugin_keep(void);

int plugin_count(int is_slow)
{
    const struct timespec moment = {0, 200000};
    int now;

    pthread_mutex_lock(&plugin_lock);
    if (is_slow)
        nanosleep(&moment, NULL);
    now = ++count;
    pthread_mutex_unlock(&plugin_lock);
    return now;
}

/* It is never given back. */
void plugin_keep(void) { pthread_mutex_lock(&plugin_lock); }
