# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion for bash.  The command itself knows its words: `tallytree --complete WORD…`
# prints what may stand for the last one.
_tallytree()
{
    local line word words typed=${COMP_LINE:0:COMP_POINT}

    read -ra words <<<"$typed"
    [[ $typed != *[[:blank:]] ]] || words+=('')
    word=${words[-1]}
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line = @files ]]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r line; do
                COMPREPLY+=("$line")
            done < <(compgen -f -- "${word##*=}")
            continue
        fi
        line=${line%%$'\t'*}
        [[ $line != *: ]] || compopt -o nospace 2>/dev/null
        # To bash a word begins behind the last '=' or ':'.
        COMPREPLY+=("${line#"${word%"${word##*[=:]}"}"}")
    done < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
}
complete -F _tallytree tallytree
