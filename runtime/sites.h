/* SPDX-License-Identifier: MIT */
/* sites.h - scopes that are a no-op until they are switched on. */
#ifndef TT_SITES_H
#define TT_SITES_H

/* Switches them in all that is loaded, and in what is loaded from now on.  0; or TT_ERR_CODE
 * negated, and none is on.  One call at a time. */
int tt_sites_switch(int on);

/* How often they were switched off. */
unsigned tt_sites_switches(void);

/* Why that was refused last, for tt_error_text; never NULL. */
const char *tt_sites_refusal(void);

#endif
