/* SPDX-License-Identifier: MIT */
/* otlp-json.h - translates OpenTelemetry's profiles from JSON to protocol buffers. */
#ifndef TT_OTLP_JSON_H
#define TT_OTLP_JSON_H

#include "json-reader.h"
#include "wire.h"

/* Appends the next value, a ProfilesData, to the message. */
void tt_otlp_json(struct tt_json *, struct tt_message *);

#endif
