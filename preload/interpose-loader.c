/* SPDX-License-Identifier: MIT */
/* interpose-loader.c - notices modules that are loaded and unloaded.
 *
 * The loader looks up paths and the next definition for the caller's object, which it finds by
 * the return address.  So these functions first check the modules loaded before, and then jump
 * to the loader: the next call, mostly the dlsym right after a dlopen, sees the changes of the
 * previous one. */
#include "interpose-loader.h"
#include "graft.h"
#include "hooks.h"
#include "modules.h"
#include "next-function.h"
#include "preload.h"

static int watched, stale;
void *tt_next_loader[4] __attribute__((visibility("hidden")));
void tt_before_loader(void) __attribute__((visibility("hidden")));
void tt_before_change(void) __attribute__((visibility("hidden")));

enum { DLOPEN, DLMOPEN, DLCLOSE, DLSYM };

/* The functions below run before our constructor too. */
static void find_next(void)
{
    static const char *const names[] = {"dlopen", "dlmopen", "dlclose", "dlsym"};

    if (!__atomic_load_n(&tt_next_loader[DLSYM], __ATOMIC_ACQUIRE))
        for (int i = 0; i < 4; i++)
            __atomic_store_n(&tt_next_loader[i], tt_next_function(names[i]),
                             __ATOMIC_RELEASE);
}

void tt_preload_watch(void)
{
    find_next();
    watched = 1;
}

void tt_before_loader(void)
{
    int is_stale;

    find_next();
    if (!watched)
        return;
    is_stale = __atomic_exchange_n(&stale, 0, __ATOMIC_RELAXED);
    if (tt_graft_is_lost() || is_stale) {
        (void)tt_modules_refresh();
        tt_preload_find_interpreters();
    }
}

void tt_before_change(void)
{
    tt_before_loader();
    __atomic_store_n(&stale, 1, __ATOMIC_RELAXED);
    tt_hooks_forget();
}

#if defined __x86_64__
#define JUMPING(name, before, index)                                                     \
    __asm__(".text\n\t.globl " #name "\n\t.type " #name ", @function\n" #name            \
            ":\n\t.cfi_startproc\n\t"                                                    \
            "pushq %rdi\n\t.cfi_adjust_cfa_offset 8\n\t"                                 \
            "pushq %rsi\n\t.cfi_adjust_cfa_offset 8\n\t"                                 \
            "pushq %rdx\n\t.cfi_adjust_cfa_offset 8\n\t"                                 \
            "call " #before "\n\t"                                                       \
            "popq %rdx\n\t.cfi_adjust_cfa_offset -8\n\t"                                 \
            "popq %rsi\n\t.cfi_adjust_cfa_offset -8\n\t"                                 \
            "popq %rdi\n\t.cfi_adjust_cfa_offset -8\n\t"                                 \
            "jmpq *tt_next_loader+8*" #index "(%rip)\n\t.cfi_endproc\n\t.size " #name    \
            ", .-" #name "\n")
#elif defined __aarch64__
#define JUMPING(name, before, index)                                                     \
    __asm__(".text\n\t.globl " #name "\n\t.type " #name ", %function\n" #name            \
            ":\n\t.cfi_startproc\n\t"                                                    \
            "stp x29, x30, [sp, #-48]!\n\t.cfi_adjust_cfa_offset 48\n\t"                 \
            ".cfi_offset 29, -48\n\t.cfi_offset 30, -40\n\t"                             \
            "stp x0, x1, [sp, #16]\n\tstr x2, [sp, #32]\n\t"                             \
            "bl " #before "\n\t"                                                         \
            "ldp x0, x1, [sp, #16]\n\tldr x2, [sp, #32]\n\t"                             \
            "ldp x29, x30, [sp], #48\n\t.cfi_adjust_cfa_offset -48\n\t"                  \
            ".cfi_restore 29\n\t.cfi_restore 30\n\t"                                     \
            "adrp x16, tt_next_loader\n\tadd x16, x16, :lo12:tt_next_loader\n\t"         \
            "ldr x16, [x16, #8*" #index "]\n\tbr x16\n\t"                                \
            ".cfi_endproc\n\t.size " #name ", .-" #name "\n")
#endif

JUMPING(dlopen, tt_before_change, 0);
JUMPING(dlmopen, tt_before_change, 1);
JUMPING(dlclose, tt_before_change, 2);
JUMPING(dlsym, tt_before_loader, 3);
