/* SPDX-License-Identifier: MIT */
/* token-file.c - reads the file of a token, or makes it. */
#include "token-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

/* 0: it is made, or was there before. */
static int make_file(const char *command, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char token[33];
    FILE *f;

    if (fd < 0)
        return errno == EEXIST ? 0 : fails(command, path);
    f = tt_http_token(token) == 0 ? fdopen(fd, "w") : NULL;
    if (!f) {
        int error = fails(command, path);
        (void)close(fd);
        (void)unlink(path);
        return error;
    }
    if ((fprintf(f, "%s\n", token) < 0) | (fclose(f) != 0)) {
        int error = fails(command, path);
        (void)unlink(path);
        return error;
    }
    return 0;
}

int tt_token_keep(const char *command, const char *path, char token[TT_TOKEN_MOST])
{
    static const char known[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    int error = make_file(command, path);

    if (!error)
        error = tt_token_read(command, path, token);
    if (error || !token[strspn(token, known)])
        return error;
    tt_complain(
        "%s: %s: a token in an address has only letters, digits, '-', '_' and '.'",
        command, path);
    return -TT_ERR_OPTION;
}
