# SPDX-License-Identifier: Apache-2.0
# Completes memtap's command lines in bash. Printed by: memtap completion bash
_memtap() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local commands= verbs= options= valued= operands= choices= kind= words= list row name a b c d i
    list=$("${COMP_WORDS[0]}" completion list 2>/dev/null)
    # bash takes --option=value apart.
    if [ "$word" = = ]; then word=; elif [ "$before" = = ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    while IFS=$'\t' read -r row name a; do
        case $row:$name in
        command:"$command "*) verbs+=" ${name#* }" ;;
        command:*' '*) ;;
        command:*) commands+=" $name" ;;
        esac
    done <<<"$list"
    # A verb that is complete joins its command; where it is typed, it is completed.
    if [ -n "$verbs" ] && [ "$COMP_CWORD" -gt 2 ]; then command+=" ${COMP_WORDS[2]}" verbs=; fi
    while IFS=$'\t' read -r row name a b c d _; do
        [ "$name" = "$command" ] || continue
        if [ "$row" = command ]; then
            operands=$a choices=${b#-}
        else
            options+=" $a"
            [ "$c" = flag ] || valued+=" $a $b"
            if [ "$c" != flag ] && [[ $before = "$a" || $before = "$b" ]]; then kind=$c words=${d#-}; fi
        fi
    done <<<"$list"
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        kind=words words="--help --version help$commands"
    elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = help ]; then
        kind=words words=$commands
    elif [ -n "$verbs" ]; then
        kind=words words="--help$verbs"
    elif [ "$operands" = program ]; then
        # What follows the first operand belongs to the program that is started.
        for ((i = 2; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
            --) i=$((i + 1)) && break ;;
            -*) [[ " $valued " != *" ${COMP_WORDS[i]} "* ]] || i=$((i + 1))
                [ "${COMP_WORDS[i]}" != = ] || i=$((i + 1)) ;;
            *) break ;;
            esac
        done
        if [ "$i" -lt "$COMP_CWORD" ]; then
            kind=files
            if declare -F _command_offset >/dev/null; then _command_offset "$i"; return; fi
        elif [ -z "$kind" ] && [[ $word != -* ]]; then
            kind=program
        fi
    fi
    if [ -z "$kind" ]; then
        kind=$operands words=$choices
        if [[ $word == -* ]]; then kind=words words="--help$options"; fi
    fi
    case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word") ;;
    program) mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -X '!*.py' -- "$word") ;;
    traces) compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$word"; compgen -f -X '!*.mtap' -- "$word") ;;
    files) compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
}
complete -F _memtap memtap
