/* SPDX-License-Identifier: MIT */
/* crowd.cpp - threads with more contexts than a small budget has room for: each allocates, and
 * what one has made another one frees.  -DTIMES=N: each of its contexts so often. */
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::map<std::string, int> seen;

template <int N> struct step {
    static __attribute__((noinline)) long go(int depth)
    {
        std::string text((size_t)(N % 50 + depth), 'x');
        {
            std::lock_guard<std::mutex> locked(lock);
            seen[text]++;
        }
        return depth ? step<(N * 7 + 3) % 211>::go(depth - 1) +
                           (depth % 3 ? 0 : step<(N * 5 + 1) % 211>::go(depth - 1))
                     : N;
    }
};

static void work(int i, long *sum)
{
    for (int j = 0; j < TIMES; j++)
        *sum += step<1>::go(9 + i % 3) + step<100>::go(7);
}

int main()
{
    long sum[8] = {}, all = 0;

    for (int round = 0; round < 3; round++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; i++)
            threads.emplace_back(work, i, &sum[i]);
        for (auto &t : threads)
            t.join();
    }
    for (long n : sum)
        all += n;
    printf("%ld %zu\n", all, seen.size());
    return 3;
}
