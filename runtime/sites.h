/* SPDX-License-Identifier: MIT */
/* sites.h - scopes that are a no-op until they are switched on. */
#ifndef TT_SITES_H
#define TT_SITES_H

/* Switches the scopes in all loaded modules, and in those loaded later.  Returns 0, or
 * -TT_ERR_CODE and none is on.  One call at a time. */
int tt_sites_switch(int on);

/* How often they were switched off. */
unsigned tt_sites_switches(void);

/* The reason of the last refusal, for tt_error_text; never NULL. */
const char *tt_sites_refusal(void);

#endif
