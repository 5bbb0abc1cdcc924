/* SPDX-License-Identifier: MIT */
/* interposing-wakes.h - shared by the functions that interpose those of descriptors and
 * children. */
#ifndef TT_INTERPOSING_WAKES_H
#define TT_INTERPOSING_WAKES_H

#include "channels.h"
#include "interposing.h"

/* A call with a descriptor that is a pipe or the like; it notes an event by this. */
#define TT_NOTE_WAKE(fd, word, key, type)                                                \
    do {                                                                                 \
        const uint64_t key_ = key;                                                       \
        struct tt_wake_slot *slot_ = tt_wake_awaited(key_);                              \
        if (__builtin_expect(slot_ != NULL, 0)) {                                        \
            struct tt_caller caller_ = TT_CALLER();                                      \
            tt_channel_note(slot_, fd, word, key_, type, &caller_);                      \
        }                                                                                \
    } while (0)

/* The word of a descriptor, if waits are recorded. */
static inline uint64_t tt_word_now(int fd)
{
    return tt_locks_are_on() ? tt_descriptor(fd) : (uint64_t)TT_FD_OTHER;
}

static inline int tt_is_channel(uint64_t word)
{
    return __builtin_expect(tt_descriptor_kind(word) > TT_FD_OTHER, 0) != 0;
}

/* No more data comes from there: closed by this call. */
#define TT_NOTE_END(fd, word)                                                            \
    do {                                                                                 \
        const enum tt_descriptor_kind of_ = tt_descriptor_kind(word);                    \
        if (of_ == TT_FD_WRITES || of_ == TT_FD_SOCKET)                                  \
            TT_NOTE_WAKE(fd, word, tt_wake_data(tt_descriptor_peer(fd, word)),           \
                         TT_WAKE_BY_END);                                                \
    } while (0)

#endif
