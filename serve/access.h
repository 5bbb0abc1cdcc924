/* SPDX-License-Identifier: MIT */
/* access.h - decides by a request's headers whether it is allowed, and the form of
 * answers.
 *
 * A page of another site can make a browser send requests here.  Its own name may even
 * resolve to this host (DNS rebinding), and then the browser takes both for one site.  So
 * a request must name a host that foreign DNS cannot provide: an address, "localhost",
 * this machine's name, or one that was given as an option. */
#ifndef TT_ACCESS_H
#define TT_ACCESS_H

enum { TT_HOSTS = 16 };

struct tt_hosts { /* names besides localhost and addresses; borrowed */
    const char *name[TT_HOSTS];
    int count;
};

/* Is the Host header's value, with any port, one of ours?  NULL: it is missing. */
int tt_access_host(const struct tt_hosts *, const char *host);
/* Does a request with these headers come from our own page, or from no page at all?  Each
 * may be NULL: it is missing. */
int tt_access_site(const char *host, const char *origin, const char *site);
/* Was the address opened by a link or a bookmark?  Such a request is answered with a page
 * in a separate window, which the page with the link cannot read. */
int tt_access_navigation(const char *mode, const char *destination);
/* Does "Authorization: Bearer TOKEN" have this token?  Takes the same time for a wrong
 * one. */
int tt_access_bearer(const char *token, const char *authorization);
/* Does Accept-Encoding allow gzip?  NULL: it is missing, and does not. */
int tt_access_gzip(const char *accepted);

/* Are both the same `size` bytes?  The time does not depend on where they differ. */
int tt_access_equal(const char *one, const char *other, unsigned long size);

#endif
