# Completion of sprag for fish:
#   sprag completions fish | source
# Names come from the server that --server or SPRAG_SERVER names, or that listens at the usual address.
function __sprag_complete
    set -l lines (PROGRAM -- (commandline -opc) (commandline -ct) 2>/dev/null)
    set -l kind $lines[1]
    set -e lines[1]
    if test (count $lines) -gt 0
        printf '%s\n' $lines
    end
    if test "$kind" = files
        __fish_complete_path (commandline -ct)
    end
end
complete -c sprag -f -k -a '(__sprag_complete)'
