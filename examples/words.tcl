# SPDX-License-Identifier: MIT
# words.tcl - prints the ten most frequent words of a file.
#
#      tallytree tcl words.tcl FILE

proc read_words {path} {
    set file [open $path]
    set words [regexp -all -inline {[[:alpha:]]+} [string tolower [read $file]]]
    close $file
    return $words
}

proc count {words} {
    foreach word $words {
        dict incr counts $word
    }
    return $counts
}

proc by_count {a b} {
    set order [expr {[lindex $b 1] - [lindex $a 1]}]
    return [expr {$order ? $order : [string compare [lindex $a 0] [lindex $b 0]]}]
}

proc print {counts} {
    foreach {word n} $counts {
        lappend pairs [list $word $n]
    }
    foreach pair [lrange [lsort -command by_count $pairs] 0 9] {
        puts [format "%7d %s" [lindex $pair 1] [lindex $pair 0]]
    }
}

print [count [read_words [lindex $argv 0]]]
