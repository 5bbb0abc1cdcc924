/* SPDX-License-Identifier: MIT */
/* token-file.c - reads the file of a token, or makes it. */
#include "token-file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "http.h"
#include "tallytree.h"

static int fails(const char *command, const char *path)
{
    tt_complain("%s: %s: %s", command, path, strerror(errno));
    return -TT_ERR_FILE;
}

int tt_token_read(const char *command, const char *path, char token[TT_TOKEN_MOST])
{
    FILE *f = fopen(path, "re");
    size_t length;

    if (!f)
        return fails(command, path);
    length = fread(token, 1, TT_TOKEN_MOST - 1, f);
    (void)fclose(f);
    token[length] = '\0';
    token[strcspn(token, "\r\n")] = '\0';
    if (length < TT_TOKEN_MOST - 1 && strlen(token) >= TT_TOKEN_LEAST)
        return 0;
    tt_complain("%s: %s: the first line has to be a token of %d to %d characters",
                command, path, TT_TOKEN_LEAST, TT_TOKEN_MOST - 2);
    return -TT_ERR_OPTION;
}

static int write_token(int fd)
{
    char token[33];
    FILE *f = tt_http_token(token) == 0 ? fdopen(fd, "w") : NULL;
    int failed;

    if (!f) {
        (void)close(fd);
        return -1;
    }
    failed = fprintf(f, "%s\n", token) < 0;
    failed |= fclose(f) != 0;
    return failed ? -1 : 0;
}

/* 0: it is made, or was there before.  It has its name only when it is whole. */
static int make_file(const char *command, const char *path)
{
    char whole[PATH_MAX];
    int fd, error;

    if (access(path, F_OK) == 0)
        return 0;
    if ((size_t)snprintf(whole, sizeof whole, "%s.XXXXXX", path) >= sizeof whole) {
        errno = ENAMETOOLONG;
        return fails(command, path);
    }
    fd = mkostemp(whole, O_CLOEXEC); /* mode 0600 */
    if (fd < 0)
        return fails(command, path);
    error = write_token(fd) != 0 || (link(whole, path) != 0 && errno != EEXIST)
                ? fails(command, path)
                : 0;
    (void)unlink(whole);
    return error;
}

int tt_token_keep(const char *command, const char *path, char token[TT_TOKEN_MOST])
{
    static const char known[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    int error = make_file(command, path);

    error = error ?: tt_token_read(command, path, token);
    if (error || !token[strspn(token, known)])
        return error;
    tt_complain(
        "%s: %s: a token in an address has only letters, digits, '-', '_' and '.'",
        command, path);
    return -TT_ERR_OPTION;
}
