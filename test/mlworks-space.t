#!/bin/bash
# SPDX-License-Identifier: MIT
# MLWorks' reports of space, in its three layouts, from a recording: the figures are those of
# its document, made of objects that add up to them.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree

# objects TYPE NUMBER BYTES OVERHEAD [SURVIVORS...] - so many objects of a size are made; of
# them so many survive the collection of generation 0, 1, and so on.
awk '
    function objects(type, number, bytes, overhead, survivors,    i) {
        for (i = 0; i < number; i++)
            print "alloc", type, bytes, overhead, i < survivors ? type bytes "." i : ""
    }
    function survive(type, bytes, number,    i) {
        for (i = 0; i < number; i++)
            print "survive", type bytes "." i
    }
    BEGIN {
        print "block <case><Match0> module=main._toplevel line=1021"
        print "block augment_cb module=main._toplevel line=903"
        print "block <anon> module=harp._registercolourer line=457"
        print "push <case><Match0>"
        objects("record", 193 + 26669, 16, 4, 193)
        objects("record", 1 + 13222, 24, 8, 1)
        objects("pair", 52892, 8, 0, 25990)
        objects("closure", 416, 16, 4, 8)
        print "pop\npush augment_cb"
        print "alloc array 210320 0 a\npop\npush <anon>"
        print "alloc bytearray 99362096 0\npop"
        print "gc-begin 0"
        survive("record", 16, 193)
        survive("record", 24, 1)
        survive("pair", 8, 25990)
        survive("closure", 16, 8)
        print "survive a\ntick 3\ngc-end\ngc-begin 1"
        survive("pair", 8, 2680)
        print "survive a\ngc-end\ngc-begin 2"
        survive("pair", 8, 316)
        print "gc-end\ngc-begin 3"
        survive("pair", 8, 30)
        print "gc-end"
    }' >"$tmp/events"

# space MANNER - the report of space of the recording, without its size.
space()
{
    "$tallytree" report mlworks --profile=- --profile-manner="$1" "$tmp/mlworks" |
        sed -n '/^MLWorks space profile/,/^-----/p' | sed -e '/bytes used for profiling/d' -e '/^-----/d'
}

none "the objects are recorded" "$tallytree" replay --series none -o "$tmp/mlworks" "$tmp/events"

head='MLWorks space profile
4 collections
functions profiled : 3
---
       alloc      copied  name'

cat >"$tmp/simple" <<END
$head
   100749352      656008  total profiled
    99362096           0  <anon>[harp._registercolourer:457]
     1176936      235368  <case><Match0>[main._toplevel:1021]
      210320      420640  augment_cb[main._toplevel:903]
END
space 7 >"$tmp/out"
none "the simple layout, where what lives long is copied more than allocated" diff "$tmp/simple" "$tmp/out"

cat >"$tmp/copies" <<END
$head
   100749352      656008  total profiled
                  421480      231760        2528         240
    99362096           0  <anon>[harp._registercolourer:457]
     1176936      235368  <case><Match0>[main._toplevel:1021]
                  211160       21440        2528         240
      210320      420640  augment_cb[main._toplevel:903]
                  210320      210320
END
space 15 >"$tmp/out"
none "the layout with copies by generation" diff "$tmp/copies" "$tmp/out"

cat >"$tmp/full" <<'END'
     1176936      235368  <case><Match0>[main._toplevel:1021]
                  211160       21440        2528         240
          gen            records       pairs    closures     strings      arrays  bytearrays        code  weakarrays       total
           0     no        40085       52892         416           0           0           0           0           0       93393
               size       747144      423136        6656           0           0           0           0           0     1176936
           overhead       213232           0        1664           0           0           0           0           0      214896
           1     no          194       25990           8           0           0           0           0           0       26192
               size         3112      207920         128           0           0           0           0           0      211160
           overhead          780           0          32           0           0           0           0           0         812
           2     no            0        2680           0           0           0           0           0           0        2680
               size            0       21440           0           0           0           0           0           0       21440
           overhead            0           0           0           0           0           0           0           0           0
           3     no            0         316           0           0           0           0           0           0         316
               size            0        2528           0           0           0           0           0           0        2528
           overhead            0           0           0           0           0           0           0           0           0
           4     no            0          30           0           0           0           0           0           0          30
               size            0         240           0           0           0           0           0           0         240
           overhead            0           0           0           0           0           0           0           0           0
END
space 65295 | sed -n '/Match0/,/augment_cb/p' | sed '$d' >"$tmp/out"
none "the full layout by type" diff "$tmp/full" "$tmp/out"

# The total's row is the sum of the functions', to the byte.
sums()
{
    space 7 | awk '
        $3 == "total" { alloc = $1; copied = $2; next }
        $1 ~ /^[0-9]+$/ && NF == 3 { alloc -= $1; copied -= $2 }
        END { if (alloc || copied) print alloc, copied }'
}
none "all functions add up to the total" sums

time_of()
{
    "$tallytree" report mlworks --profile=- --profile-manner=7 "$tmp/mlworks" | sed -n 's/^(plus \(.*\) in GC.*/\1/p'
}
try "the collector's ticks are told apart" [ "$(time_of)" = "3 ticks" ]
finish
