/* SPDX-License-Identifier: MIT */
/* disassemble.c - code of x86-64 and aarch64 as text, by capstone.
 *
 * The library is loaded when needed: it is large, and no other command uses it. */
#include "disassemble.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TT_HAVE_CAPSTONE
#include <capstone/capstone.h>

static struct {
    cs_err (*open)(cs_arch, cs_mode, csh *);
    cs_err (*close)(csh *);
    cs_err (*option)(csh, cs_opt_type, size_t);
    size_t (*disasm)(csh, const uint8_t *, size_t, uint64_t, size_t, cs_insn **);
    void (*free)(cs_insn *, size_t);
    bool (*group)(csh, const cs_insn *, unsigned);
} capstone;

#define TEXT_OF(number) #number
#define LIBRARY(version) "libcapstone.so." TEXT_OF(version)

static int load(void)
{
    static void *library;

    if (library)
        return 0;
    library = dlopen(LIBRARY(CS_API_MAJOR), RTLD_NOW);
    if (!library)
        return -1;
    *(void **)&capstone.open = dlsym(library, "cs_open");
    *(void **)&capstone.close = dlsym(library, "cs_close");
    *(void **)&capstone.option = dlsym(library, "cs_option");
    *(void **)&capstone.disasm = dlsym(library, "cs_disasm");
    *(void **)&capstone.free = dlsym(library, "cs_free");
    *(void **)&capstone.group = dlsym(library, "cs_insn_group");
    if (capstone.open && capstone.close && capstone.option && capstone.disasm &&
        capstone.free && capstone.group)
        return 0;
    dlclose(library);
    library = NULL;
    return -1;
}

/* The target of a jump or call, if it is in the instruction. */
static uint64_t target_of(unsigned machine, const cs_insn *i)
{
    const cs_detail *d = i->detail;

    if (machine == EM_X86_64)
        return d->x86.op_count == 1 && d->x86.operands[0].type == X86_OP_IMM
                   ? (uint64_t)d->x86.operands[0].imm
                   : 0;
    for (uint8_t k = 0; k < d->arm64.op_count; k++)
        if (d->arm64.operands[k].type == ARM64_OP_IMM && k + 1 == d->arm64.op_count)
            return (uint64_t)d->arm64.operands[k].imm;
    return 0;
}

/* The operands before the target, which is the last one: "x0, #3, " of a tbz. */
static int length_before_target(const char *operands)
{
    const char *comma = strrchr(operands, ',');

    return comma ? (int)(comma - operands) + 2 : 0;
}

/* The library has no group of calls for aarch64 before its version 5. */
static int is_call(csh handle, unsigned machine, const cs_insn *i)
{
    return capstone.group(handle, i, CS_GRP_CALL) ||
           (machine == EM_AARCH64 && (i->id == ARM64_INS_BL || i->id == ARM64_INS_BLR));
}

static void take(csh handle, unsigned machine, const cs_insn *from,
                 struct tt_instruction *to)
{
    *to = (struct tt_instruction){.address = from->address, .size = from->size};
    memcpy(to->byte, from->bytes,
           from->size < sizeof to->byte ? from->size : sizeof to->byte);
    if (from->id && is_call(handle, machine, from))
        to->flow = TT_FLOW_CALL;
    else if (from->id && capstone.group(handle, from, CS_GRP_JUMP))
        to->flow = TT_FLOW_JUMP;
    to->target = to->flow == TT_FLOW_ON ? 0 : target_of(machine, from);
    if (to->target)
        (void)snprintf(to->text, sizeof to->text, "%-7s %.*s", from->mnemonic,
                       length_before_target(from->op_str), from->op_str);
    else
        (void)snprintf(to->text, sizeof to->text, "%-7s %s", from->mnemonic,
                       from->op_str);
    for (size_t n = strlen(to->text); !to->target && n && to->text[n - 1] == ' ';)
        to->text[--n] = '\0';
}

static size_t disassemble(csh handle, unsigned machine, const unsigned char *bytes,
                          size_t size, uint64_t address, struct tt_instruction **out)
{
    cs_insn *insn = NULL;
    size_t count;

    (void)capstone.option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    (void)capstone.option(handle, CS_OPT_SKIPDATA, CS_OPT_ON);
    count = capstone.disasm(handle, bytes, size, address, 0, &insn);
    *out = count ? calloc(count, sizeof **out) : NULL;
    for (size_t i = 0; *out && i < count; i++)
        take(handle, machine, &insn[i], &(*out)[i]);
    if (count)
        capstone.free(insn, count);
    return *out ? count : 0;
}

size_t tt_disassemble(unsigned machine, const unsigned char *bytes, size_t size,
                      uint64_t address, struct tt_instruction **out, const char **reason)
{
    csh handle;
    size_t count;

    *out = NULL;
    *reason = "its machine's code cannot be disassembled here";
    if (machine != EM_X86_64 && machine != EM_AARCH64)
        return 0;
    *reason = "disassembling needs the library " LIBRARY(CS_API_MAJOR);
    if (load() != 0)
        return 0;
    if (capstone.open(machine == EM_X86_64 ? CS_ARCH_X86 : CS_ARCH_ARM64,
                      machine == EM_X86_64 ? CS_MODE_64 : CS_MODE_LITTLE_ENDIAN,
                      &handle) != CS_ERR_OK)
        return 0;
    count = disassemble(handle, machine, bytes, size, address, out);
    *reason = "no memory";
    (void)capstone.close(&handle);
    return count;
}

#else

size_t tt_disassemble(unsigned machine, const unsigned char *bytes, size_t size,
                      uint64_t address, struct tt_instruction **out, const char **reason)
{
    (void)machine, (void)bytes, (void)size, (void)address;
    *out = NULL;
    *reason = "this tallytree was built without capstone, which disassembles";
    return 0;
}

#endif
