#!/bin/bash
# SPDX-License-Identifier: MIT
# doc/views.md against the views: every column and every word of theirs is there.
. "$(dirname "$0")/tap.sh"

# The keys of columns, as views add them; those of space are in a table.
columns()
{
    cat profile/view*.c profile/metric-view.c | tr '\n' ' ' |
        grep -oE '(add|table)_column\((t|v|[a-z]->t|v, *t), *"[a-z_]+"|\{"[a-z_]+", "[a-z]+", "(bytes)?"\}|add_column\(v, "[a-z_]+"' |
        grep -oE '"[a-z_]+"' | tr -d '"' | sort -u
}

words()
{
    sed -nE 's/^    \{"([a-z]+)", "[A-Z;]+",.*/\1/p' profile/views.c | sort -u
}

# missing COMMAND - what it prints that the page does not have as code
missing()
{
    "$1" | while read -r key; do
        grep -qF "\`$key" doc/views.md || echo "$key"
    done
}

too_few() { [ "$(columns | wc -l)" -ge 60 ] || columns; }

none "every column is in doc/views.md" missing columns
none "every word of a view is in doc/views.md" missing words
none "the columns were found" too_few
finish
