# SPDX-License-Identifier: Apache-2.0
# Completes memtap's command lines in fish. Printed by: memtap completion fish
function __memtap_files
    set -l typed $argv[2]
    for path in $typed*$argv[1] $typed*/
        echo $path
    end
end

# Values of the sort $argv[1], which are among the words $argv[2]; $argv[3] is what is typed of it.
function __memtap_values
    switch $argv[1]
        case words
            test "$argv[2]" = -; or string split ' ' -- $argv[2]
        case traces
            __memtap_files .mtap $argv[3]
        case files
            __memtap_files '' $argv[3]
    end
end

# Prints what may stand where the cursor is, a word a line, with a tab and a description after it.
function __memtap_complete
    set -l typed (commandline -ct)
    set -l before (commandline -opc)
    set -l rows ($before[1] completion list 2>/dev/null)
    set -l command $before[2]
    set -l verbs (string replace -fr "^command\t$command ([^\t]*)\t.*\t" '$1\t' -- $rows)
    if test (count $before) -eq 1 -o "$command" = help
        string replace -fr '^command\t([^\t ]*)\t.*\t' '$1\t' -- $rows
        test (count $before) -eq 1; and printf '%s\n' help\t'explain a command' --help --version
        return
    end
    if set -q verbs[1]
        if test (count $before) -eq 2
            printf '%s\n' $verbs --help
            return
        end
        set command "$command $before[3]"
    end
    set -l option (string match -r '^(--[^=]*)=(.*)' -- $typed)
    set -l operands
    set -l options
    for row in $rows
        set -l field (string split \t -- $row)
        test "$field[2]" = "$command"; or continue
        if test $field[1] = command
            set operands $field[3..4]
        else if test $field[5] != flag; and contains -- $before[-1] $field[3..4]
            __memtap_values $field[5..6] $typed
            return
        else if test $field[5] != flag -a "$option[2]" = $field[3]
            __memtap_values $field[5..6] "$option[3]" | string replace -r '^' "$option[2]="
            return
        else
            set -a options $field[3]\t$field[8]
            test $field[4] = -; or set -a options $field[4]\t$field[8]
        end
    end
    string match -q -- '-*' $typed; and printf '%s\n' $options --help
    if test "$operands[1]" = program
        string match -qr '^(run|simulate|nightly|-.*)$' -- $before[-1]; and __memtap_files .py $typed
        __fish_complete_subcommand --fcs-skip=2
    else
        __memtap_values $operands $typed
    end
end
complete -c memtap -f -a '(__memtap_complete)'
