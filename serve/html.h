/* SPDX-License-Identifier: MIT */
/* html.h - the viewer's page with a profile and the engine in it: one file that works
 * from a disk, without a network. */
#ifndef TT_HTML_H
#define TT_HTML_H

#include "formats.h"

extern const struct tt_format tt_format_html;

#endif
