# SPDX-License-Identifier: MIT
# Completion for fish.  The command itself knows its words: `tallytree --complete WORD…`
# prints what may stand for the last one, and what it is.
function __tallytree_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    # What stands before a file that is written behind an equals sign.
    set -l flag (string match -r '^-[^=]*=' -- $word)

    for line in (command $words[1] --complete $words[2..-1] "$word" 2>/dev/null)
        if test "$line" = @files
            for path in (__fish_complete_path (string replace -r '^-[^=]*=' '' -- "$word"))
                echo -- "$flag$path"
            end
        else
            echo -- $line
        end
    end
end
complete -c tallytree -f -a '(__tallytree_complete)'
