/* SPDX-License-Identifier: MIT */
/* program-file.h - which loader or interpreter a program's file asks for.
 *
 * By system calls only, so all are async-signal-safe, and a child of vfork may call
 * them. */
#ifndef TT_PROGRAM_FILE_H
#define TT_PROGRAM_FILE_H

#include <elf.h>
#include <stddef.h>

/* The scripts that may interpret one another. */
enum { TT_SCRIPTS_MAX = 5 };

/* Less than 0: it cannot be read. */
int tt_program_file_open(const char *path);
void tt_program_file_close(int fd);

/* 1: it is an ELF file.  Of another class, only the identity and machine are valid. */
int tt_program_file_header(int fd, Elf64_Ehdr *);

/* Reads the path of the loader that it asks for.  1; 0: none; -1: it cannot be read. */
int tt_program_file_loader(int fd, const Elf64_Ehdr *, char *out, size_t size);

/* "#! /usr/bin/python3 -u": the program that runs a script.  0: it is none. */
int tt_program_file_interpreter(int fd, char *out, size_t size);

#endif
