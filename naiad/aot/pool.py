"""The threads that run a launch on the CPU in a program without Python: a small pool of pthreads, in C.

Every launcher's source holds it; its symbols are weak and hidden, so that a program or a library has one pool. Their
names hold a hash of the text, so that different versions of it do not meet.
"""

import hashlib
from functools import cache

from naiad.backends.cpu.driver import GRAIN_COST

__all__ = ["POOL_INCLUDES", "pool_name", "pool_text"]

POOL_INCLUDES = """\
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
"""

TEXT = """
#define NAIAD_SHARED __attribute__((weak, visibility("hidden")))
typedef void (*naiad_kernel)(int64_t begin, int64_t end, void *slots);

/* The state of the pool. Workers 1 .. wanted-1 may enter the launch `job` while it is open. */
struct POOL {
    pthread_mutex_t turn, lock;
    pthread_cond_t wake, idle;
    pthread_t ids[MOST_THREADS];
    int started, working, wanted, open, quit, watches_fork;
    uint64_t job;
    naiad_kernel kernel;
    void *slots;
    int64_t programs, chunk, next;
};
NAIAD_SHARED struct POOL POOL_state = {.turn = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
                                       .wake = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};

static void POOL_take(struct POOL *pool)
{
    int64_t begin;
    while ((begin = __atomic_fetch_add(&pool->next, pool->chunk, __ATOMIC_RELAXED)) < pool->programs) {
        int64_t left = pool->programs - begin;
        pool->kernel(begin, begin + (left < pool->chunk ? left : pool->chunk), pool->slots);
    }
}

NAIAD_SHARED void *POOL_worker(void *number)
{
    struct POOL *pool = &POOL_state;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->quit && (!pool->open || pool->job == seen || (intptr_t)number >= pool->wanted))
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->quit)
            break;
        seen = pool->job;
        pool->working++;
        pthread_mutex_unlock(&pool->lock);
        POOL_take(pool);
        pthread_mutex_lock(&pool->lock);
        if (--pool->working == 0)
            pthread_cond_signal(&pool->idle);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* In a child after fork no worker has survived, and a launch of the parent may have been under way. */
NAIAD_SHARED void POOL_reset(void)
{
    struct POOL fresh = {.turn = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
                         .wake = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER, .watches_fork = 1};
    POOL_state = fresh;
}

/* Makes workers until there are `count`, or the system gives no more. The lock is held. */
static void POOL_start(struct POOL *pool, int count)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pool->started >= count)
        return;
    if (!pool->watches_fork)
        pool->watches_fork = pthread_atfork(NULL, NULL, POOL_reset) == 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 8 << 20);
    sigfillset(&all); /* signals are the program's own threads' */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->started < count && pthread_create(&pool->ids[pool->started], &attributes, POOL_worker,
                                                   (void *)(intptr_t)(pool->started + 1)) == 0)
        pool->started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* Ends the workers, unless a launch is under way; a later launch starts them again. */
NAIAD_SHARED void POOL_stop(void)
{
    struct POOL *pool = &POOL_state;
    if (pthread_mutex_trylock(&pool->turn))
        return;
    pthread_mutex_lock(&pool->lock);
    pool->quit = 1;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (; pool->started > 0; pool->started--)
        pthread_join(pool->ids[pool->started - 1], NULL);
    pool->quit = 0;
    pthread_mutex_unlock(&pool->turn);
}

/* NAIAD_NUM_THREADS, else the processors that this process may use (affinity, and the quota of its cgroup). */
NAIAD_SHARED int POOL_threads(void)
{
    const char *text = getenv("NAIAD_NUM_THREADS");
    long count = text ? strtol(text, NULL, 10) : 0;
    if (count > 0)
        return count < MOST_THREADS ? (int)count : MOST_THREADS;
    count = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t allowed;
    long quota, period;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        count = CPU_COUNT(&allowed);
    if (file && fscanf(file, "%ld %ld", &quota, &period) == 2 && period > 0 && (quota + period - 1) / period < count)
        count = (quota + period - 1) / period;
    if (file)
        fclose(file);
#endif
    return count < 1 ? 1 : count < MOST_THREADS ? (int)count : MOST_THREADS;
}

/* Runs kernel(begin, end, slots) over 0 .. programs-1. cost: about how many scalar operations a program is. */
NAIAD_SHARED void POOL_run(naiad_kernel kernel, void *slots, int64_t programs, double cost, int threads)
{
    static int usual;
    struct POOL *pool = &POOL_state;
    int64_t grain = cost >= GRAIN_COST ? 1 : (int64_t)(GRAIN_COST / (cost < 1 ? 1 : cost)) + 1;
    if (threads <= 0) {
        threads = __atomic_load_n(&usual, __ATOMIC_RELAXED);
        if (threads == 0)
            __atomic_store_n(&usual, threads = POOL_threads(), __ATOMIC_RELAXED);
    }
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    if (threads > programs)
        threads = (int)programs;
    /* A launch that is small, or that another one is under way beside, runs on this thread. */
    if (threads < 2 || programs <= grain || programs * cost < SMALL_COST || pthread_mutex_trylock(&pool->turn)) {
        kernel(0, programs, slots);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    POOL_start(pool, threads - 1);
    pool->kernel = kernel, pool->slots = slots, pool->programs = programs, pool->next = 0;
    pool->chunk = (programs + 8LL * threads - 1) / (8LL * threads);
    if (pool->chunk < grain)
        pool->chunk = grain;
    pool->wanted = threads, pool->open = 1, pool->job++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    POOL_take(pool);
    pthread_mutex_lock(&pool->lock);
    pool->open = 0;
    while (pool->working)
        pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->turn);
}

/* Code that is unloaded must have no threads in it. */
__attribute__((destructor)) static void naiad_at_unload(void) { POOL_stop(); }
"""
MOST_THREADS = 1024
SMALL_COST = 512_000.0
"""Scalar operations of a launch that is worth threads: to wake one that sleeps takes 5 to 20 us."""


@cache
def pool_name() -> str:
    """What the names of the pool's symbols start with."""
    return "naiad_pool_" + hashlib.sha256(TEXT.encode()).hexdigest()[:8]


@cache
def pool_text() -> str:
    """The pool's source: `pool_name()`_run, _stop, _threads."""
    text = TEXT.replace("POOL", pool_name()).replace("MOST_THREADS", str(MOST_THREADS))
    return text.replace("GRAIN_COST", f"{GRAIN_COST:.1f}").replace("SMALL_COST", f"{SMALL_COST:.1f}")
