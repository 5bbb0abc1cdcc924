/* SPDX-License-Identifier: MIT */
/* otlp-json.h - OpenTelemetry's profiles as JSON become the same message as protocol buffers. */
#ifndef TT_OTLP_JSON_H
#define TT_OTLP_JSON_H

#include "json-reader.h"
#include "wire.h"

/* The next value, a ProfilesData, behind what is in the message.  1, or an error, noted. */
int tt_otlp_json(struct tt_json *, struct tt_message *);

#endif
