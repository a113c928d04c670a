#compdef sprag
# Completion of sprag for zsh, after compinit:
#   source <(sprag completions zsh)
# Names come from the server that --server or SPRAG_SERVER names, or that listens at the usual address.
_sprag() {
    local line value
    local -a lines whole open
    lines=("${(@f)$(PROGRAM -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in "${(@)lines[2,-1]}"; do
        value=${line%%$'\t'*}
        [[ -n $value ]] || continue
        line="${${value//\\/\\\\}//:/\\:}:${line#*$'\t'}"
        # What ends so goes on.
        if [[ $value == *[:=/] ]]; then open+=("$line"); else whole+=("$line"); fi
    done
    (( $#whole )) && _describe -V sprag whole
    (( $#open )) && _describe -V sprag open -S ''
    [[ $lines[1] == files ]] && _files
}
if [[ $funcstack[1] == _sprag ]]; then
    _sprag "$@"
else
    compdef _sprag sprag
fi
