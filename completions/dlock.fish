# fish completion for dlock(1)
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT

set -g __dlock_with_word -w --wait --timeout -E --conflict-exit-code --slots --max-waiters -t --ttl \
    -k --kill-after --signal --on-lost --max-hold --descendants --at-least --if-unreachable -S --server \
    --prefix --fence --min-fence --wait-replicas --quarantine --connect-timeout --cacert --cacertdir --cert --key --sni \
    --password-file --password-command --config --report --label --token

# Prints the words after NAME, one a line; fails while NAME is not complete.
function __dlock_after_name
    set -l words (commandline -opc)
    set -l i 2
    while test $i -le (count $words)
        switch $words[$i]
            case --
                set i (math $i + 1)
                break
            case '-*'
                contains -- $words[$i] $__dlock_with_word
                and set i (math $i + 1)
                set i (math $i + 1)
            case '*'
                break
        end
    end
    test $i -le (count $words)
    or return 1
    set i (math $i + 1)
    test $i -le (count $words)
    and printf '%s\n' $words[$i..-1]
    return 0
end

function __dlock_needs_options
    not __dlock_after_name >/dev/null
end

# Names of locks cost a question to the server: with DLOCK_COMPLETE_NAMES=1 alone. Those that need no
# quotes.
function __dlock_names
    test "$DLOCK_COMPLETE_NAMES" = 1
    or return
    set -l asked
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        switch $words[$i]
            case -S --server --prefix --config --password-file --cacert --cacertdir --cert --key --sni
                set -a asked $words[$i] $words[(math $i + 1)]
            case '-S?*' '--server=*' '--prefix=*' '--config=*' '--password-file=*' --tls --insecure \
                    '--cacert=*' '--cacertdir=*' '--cert=*' '--key=*' '--sni=*'
                set -a asked $words[$i]
        end
    end
    timeout 2 dlock --connect-timeout 500ms $asked --list --json 2>/dev/null </dev/null |
        string match -ar '"name":"[\p{L}\p{N}_.:/@%+,=-][\p{L}\p{N}_.:/@%+,=#-]*"' | string split -f 4 '"'
end

# --status, --list, --break or --check, where the locks themselves are asked for.
function __dlock_asks
    contains -- $argv[1] (commandline -opc)
end

function __dlock_asks_about_locks
    __dlock_asks --status
    or __dlock_asks --list
    or __dlock_asks --break
    or __dlock_asks --check
end

function __dlock_needs_command
    __dlock_asks_about_locks
    and return 1
    set -l rest (__dlock_after_name)
    and test (count $rest) -eq 0
end

function __dlock_complete_command
    __dlock_asks_about_locks
    and return
    set -l rest (__dlock_after_name)
    or return
    contains -- "$rest[1]" -c --command
    and return
    test "$rest[1]" = --
    and set -e rest[1]
    complete -C (string join ' ' -- (string escape -- $rest) (commandline -ct))
end

complete -c dlock -f
complete -c dlock -n 'not __dlock_needs_options' -a '(__dlock_complete_command)'
complete -c dlock -n '__dlock_needs_options; or __dlock_asks --status' -a '(__dlock_names)'
complete -c dlock -n __dlock_needs_command -s c -l command -d 'Run a shell line'

function __dlock_option
    complete -c dlock -n __dlock_needs_options $argv
end

set -l durations '250ms 1s 5s 30s 1m 10m 1h'
__dlock_option -s n -l nonblock -l nb -d 'Do not wait for the lock'
__dlock_option -s w -l wait -l timeout -x -a $durations -d 'Wait at most so long'
__dlock_option -s E -l conflict-exit-code -x -d 'Exit status when the lock was not had in time'
__dlock_option -s x -s e -l exclusive -d 'Exclusive lock'
__dlock_option -s s -l shared -d 'Shared lock'
__dlock_option -l slots -x -d 'How many may hold it at once'
__dlock_option -l max-waiters -x -d 'Do not wait behind so many'
__dlock_option -s t -l ttl -x -a $durations -d 'Length of the lease'
__dlock_option -s k -l kill-after -x -a $durations -d 'Grace between the first signal and KILL'
__dlock_option -l signal -x -a 'HUP INT QUIT TERM USR1 USR2 KILL' -d 'The first signal'
__dlock_option -l on-lost -x -a 'kill signal' -d 'What becomes of the command when the lock is lost'
__dlock_option -l max-hold -x -a $durations -d 'How long the command may run'
__dlock_option -l descendants -x -a 'leave wait kill' -d 'What becomes of processes that outlive the command'
__dlock_option -l at-least -x -a $durations -d 'Keep the lock at least so long'
__dlock_option -l reentrant -d 'Run under an ancestor\'s lock of that name'
__dlock_option -l if-unreachable -x -a 'fail skip run' -d 'What to do when no server answers'
__dlock_option -s S -l server -x -a 'redis:// rediss:// unix:// redis+sentinel:// rediss+sentinel:// redis+cluster:// rediss+cluster:// postgresql://' -d 'Where the lock lives'
__dlock_option -l prefix -x -d 'Put before NAME to make the key'
__dlock_option -l fence -x -a 'clock counter' -d 'How fencing numbers are made'
__dlock_option -l min-fence -x -d 'The fencing number shall exceed this'
__dlock_option -l wait-replicas -x -a auto -d 'It counts when so many replicas have it'
__dlock_option -l quarantine -x -a $durations -d 'Of several servers, one that is up for less does not vote'
__dlock_option -l connect-timeout -x -a $durations -d 'For look-up, connect, TLS and login together'
__dlock_option -l tls -d 'Speak TLS, also with redis://'
__dlock_option -l cacert -r -F -d 'CAs to trust'
__dlock_option -l cacertdir -x -a '(__fish_complete_directories)' -d 'Directory of CAs to trust'
__dlock_option -l cert -r -F -d 'Certificate to show to the server'
__dlock_option -l key -r -F -d 'Key of that certificate'
__dlock_option -l sni -x -d 'Name of the server in TLS'
__dlock_option -l insecure -d 'Do not verify the server\'s certificate'
__dlock_option -l password-file -r -F -d 'File with the password'
__dlock_option -l password-command -x -a '(__fish_complete_command)' -d 'Command that prints the password'
__dlock_option -l config -r -F -d 'Configuration file'
__dlock_option -l watch -d 'Learn of a loss at once'
__dlock_option -l report -r -F -d 'Append a line of JSON to this file when done'
__dlock_option -l label -x -d 'Text shown to others'
__dlock_option -l held -d 'Is the lock of the dlock above still ours?'
__dlock_option -l status -d 'Who holds each NAME, and who waits'
__dlock_option -l list -d 'Every lock, or those that a glob matches'
__dlock_option -l break -d 'Take the lock from its holder'
__dlock_option -l check -d 'Is this server fit to keep locks?'
__dlock_option -l json -d 'A report in JSON'
__dlock_option -l force -d 'Break it at once, whoever holds it'
__dlock_option -l token -x -d 'Break only the holding with this token'
__dlock_option -s v -l verbose -d 'Say what happens'
__dlock_option -s q -l quiet -d 'Say nothing of conflicts and waits'
__dlock_option -s o -l close -d 'Accepted for flock scripts'
__dlock_option -s h -l help -d 'Show help'
__dlock_option -s V -l version -d 'Show the version'
functions -e __dlock_option
