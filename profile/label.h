/* SPDX-License-Identifier: MIT */
/* label.h - labels of a strand: "KEY=VALUE", a line each. */
#ifndef TT_LABEL_H
#define TT_LABEL_H

#include <string.h>

/* Which run the strand is of, where several were merged. */
#define TT_LABEL_RUN "run"

/* Returns the value of a label, which ends with its line; NULL: there is no such
 * label. */
static inline const char *tt_label_find(const char *labels, const char *key, size_t *size)
{
    size_t length = strlen(key);

    for (; *labels; labels += strcspn(labels, "\n"), labels += *labels == '\n')
        if (strncmp(labels, key, length) == 0 && labels[length] == '=') {
            *size = strcspn(labels + length + 1, "\n");
            return labels + length + 1;
        }
    return NULL;
}

#endif
