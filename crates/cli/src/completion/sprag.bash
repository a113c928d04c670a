# Completion of sprag for bash:
#   source <(sprag completions bash)
# Names come from the server that --server or SPRAG_SERVER names, or that listens at the usual address.
_sprag() {
    local word line current cut i
    local -a words=() lines=()
    # Bash ends words at these three characters as well; sprag does not, so they are joined again.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)) && [[ $word != [:=@] ]]; then word=$2; fi
        if ((i > 1)) && [[ $word == [:=@]* || ${COMP_WORDS[i - 1]} == *[:=@] ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
    done
    current=${words[${#words[@]}-1]}
    cut=${current%"${current##*[:=@]}"}
    mapfile -t lines < <(PROGRAM -- "${words[@]}" 2>/dev/null)
    COMPREPLY=()
    for line in "${lines[@]:1}"; do
        line=${line%%$'\t'*}
        line=${line#"$cut"}
        # A name may hold what the shell would obey.
        if [[ ${lines[0]} != files ]]; then printf -v line %q "$line"; fi
        COMPREPLY+=("$line")
    done
    if [[ ${lines[0]-} == files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$2")
    elif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=/] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _sprag sprag
