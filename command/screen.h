/* SPDX-License-Identifier: MIT */
/* screen.h - the terminal as one picture, with keys; always restored. */
#ifndef TT_SCREEN_H
#define TT_SCREEN_H

#include "text.h"

enum tt_key { /* beside bytes; a character that is no ASCII comes as several */
              TT_KEY_NONE = 0,
              TT_KEY_ESCAPE = '\033',
              TT_KEY_UP = 256,
              TT_KEY_DOWN,
              TT_KEY_PAGE_UP,
              TT_KEY_PAGE_DOWN,
              TT_KEY_HOME,
              TT_KEY_END,
              TT_KEY_AGAIN, /* the picture has to be drawn again: it has another size, or
                               was away */
              TT_KEY_GONE   /* there is no terminal any more */
};

/* Takes over the terminal of standard output, for one screen a process.  It is restored
 * by tt_screen_close, by every signal that ends the process (SIGINT ends it with status
 * 0), and while the process is stopped.  -TT_ERR_FILE: it is not available. */
int tt_screen_open(void);
void tt_screen_close(void);
void tt_screen_size(uint32_t *width, uint32_t *height);
/* Shows lines; keeps their colours, but no other control sequences; cuts lines at the
 * edge of the screen.  The first is shown inverted. */
void tt_screen_show(struct tt_text *lines);
/* Returns the next key, or TT_KEY_NONE after `seconds`. */
int tt_screen_key(double seconds);

#endif
