#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 1 and 2: a server, a config file or an environment that is malformed gets one line
# that names it and says what would be right, the right status, and nothing is sent to a server. The
# rest of the command line is in bad_input.bats.
#
# shellcheck disable=SC2016 # dollars that are meant to be bytes

load helpers/common
load helpers/refusals

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() { refusals_setup; }
teardown() { refusals_teardown; }

@test "the proof of this file is one: a run that is right does connect" {
	refusals_prove
}

# One line a URL: what is said of it, a tab, the URL.
URLS='no scheme in front of the server URL, as in redis://localhost:6379 or unix:///	localhost
no scheme .*redis://localhost:6379	db1:6379
no scheme .*redis://localhost:6379	/run/redis.sock
no scheme .*redis://localhost:6379	ann:hush@db1
no scheme .*redis://localhost:6379	//db1
slashes are missing behind unix: .* unix:///path/to.sock	unix:/run/redis.sock
slashes are missing behind redis: .* redis://localhost:6379	redis:db1
slashes are missing behind redis:	redis:/ann:hush@db1
absolute, with three slashes: unix:///path/to.sock	unix://run/redis.sock
absolute	unix://
a unix:// URL has no user or password: .*--password-file	unix://ann:hush@/run/redis.sock
a unix:// URL has no user	unix://:hush@run/redis.sock
path in the server URL is too long .at most 107 bytes	unix:///aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
slashes are missing behind rediss:	rediss:/ann:hush@db1
named by rediss:// too .schemes	valkeys://ann:hush@127.0.0.1:PORT
named by postgresql:// .schemes: redis://, rediss://, unix://	pgsql://ann:hush@127.0.0.1:PORT/app
bad dlock_key in the server URL	postgresql://ann:hush@127.0.0.1:PORT/app?dlock_key=x
named by redis:// too .schemes: redis://, rediss://, unix://	valkey://127.0.0.1:PORT
named by unix:///path/to.sock .schemes	redis+socket:///run/r
unknown scheme .http. .*schemes: redis://, rediss://, unix://	http://127.0.0.1:PORT/
unknown scheme .REDIS. .*schemes: redis://, rediss://, unix://	REDIS://127.0.0.1:PORT/
unknown scheme	memcached://ann:hush@127.0.0.1:PORT/
no host .*redis://localhost:6379	redis://
no host .*redis://localhost:6379	redis://ann:hush@
no host	redis://:PORT/0
no host	redis://[]
no closing . after the IPv6 address	redis://[::1
only :port may follow	redis://[::1]PORT
in brackets: redis://.::1.:6379	redis://::1
in brackets	redis://fe80::1:6379
no service in the server URL: .*redis.sentinel://host1,host2,host3/service	redis+sentinel://127.0.0.1:PORT
no service	rediss+sentinel://:hush@127.0.0.1:PORT,127.0.0.1:PORT/
more than 16 hosts	redis+sentinel://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q/main
more than one host .*redis.sentinel:// for sentinels, redis.cluster:// for a cluster, and a whole URL for each of several servers	redis://127.0.0.1:PORT,127.0.0.1:PORT
bad host .*redis://localhost:6379	redis://ann:hush@db1#hush
bad host	redis://<host>
bad host	redis://$HOST
bad host	redis://db%201
bad port .*from 1 to 65535, as in redis://localhost:6379/0	redis://127.0.0.1:99999
bad port	redis://127.0.0.1:0
bad port	redis://127.0.0.1:
bad port	redis://127.0.0.1:-1
bad port	redis://127.0.0.1:hush
bad port	redis://ann:hush@127.0.0.1:hush
bad db .*from 0 to 2147483647, as in redis://localhost:6379/0	redis://127.0.0.1:PORT/x
bad db	redis://127.0.0.1:PORT/-1
bad db	redis://127.0.0.1:PORT/0/1
bad db	redis://127.0.0.1:PORT/hush
bad db	redis://127.0.0.1:PORT?db=
bad db	unix:///run/r?db=x
bad percent-encoding in the password .*%HH	redis://ann:hush%4@127.0.0.1:PORT
bad percent-encoding in the password .*not %00	redis://ann:%00hush@127.0.0.1:PORT
bad percent-encoding in the user	redis://a%nn:hush@127.0.0.1:PORT
bad percent-encoding in the path	unix:///run/%zz
an @ after a / or . .*write / as %2F	redis://ann:hush/hush@127.0.0.1:PORT
an @ after a / or . .*as %3F	redis://ann:hush?hush@127.0.0.1:PORT
bad connect-timeout in the server URL: not a duration: .soon.	redis://127.0.0.1:PORT?connect-timeout=soon
bad connect-timeout .*at least 1ms	unix:///run/r?connect-timeout=0'

@test "server URLs, in every place" {
	local words url
	while IFS=$'\t' read -r words url; do
		url=${url//PORT/$REDIS_PORT}
		bad "--server: .*$words" -S "$url" job touch ran
		bad_env "DLOCK_SERVER in the environment: .*$words" DLOCK_SERVER="$url"
		bad_env "REDIS_URL in the environment: .*$words" DLOCK_SERVER= REDIS_URL="$url"
		bad_line "server: .*$words" "server = \"$url\""
	done <<<"$URLS"
	[ "$CASES" -ge 200 ]
}

@test "server URLs: what differs from place to place" {
	bad "--server: unknown key 'nosuchkey' in the server URL \\(there are: .*connect-timeout" \
		-S "$URL_TCP?nosuchkey=hush" job touch ran
	bad_env "DLOCK_SERVER in the environment: unknown key 'nosuchkey'" DLOCK_SERVER="$URL_TCP?nosuchkey=hush"
	bad_line "server: unknown key 'nosuchkey'" "server = $URL_TCP?nosuchkey=hush"
	bad '--server: .*no scheme' -S '' job touch ran
	bad_line 'server: no scheme' 'server ='
	bad "$URL_TCP is named twice: of several servers each has one vote" -S "$URL_TCP" -S "$URL_TCP" job touch ran
	bad "$URL_TCP is named twice" -S "$URL_TCP $URL_TCP" job touch ran
	bad_env "$URL_TCP is named twice" DLOCK_SERVER="$URL_TCP $URL_TCP"
	bad_env 'REDIS_URL in the environment: server 2: unknown scheme' DLOCK_SERVER= REDIS_URL="$URL_TCP http://:hush@db2"
	bad '--server: a blank in the server URL: write %20 for it' -S "$URL_TCP " job touch ran
	bad_env 'a blank in the server URL: write %20 for it' DLOCK_SERVER=$'redis://db1\n'
	bad_env 'no server named: give -S redis://localhost:6379, or set DLOCK_SERVER' -u DLOCK_SERVER -u REDIS_URL
	bad_env 'no server named' DLOCK_SERVER= REDIS_URL=
}

@test "a password that stands in the wrong place is not said" {
	local url=redis://ann:hush@127.0.0.1:$REDIS_PORT option
	for option in --wait --ttl --kill-after --conflict-exit-code --min-fence --signal --on-lost --fence; do
		bad "$option: .*redis://ann:\\*\\*\\*" "$option" "$url" job touch ran
		bad_line "${option#--}: .*redis://ann:\\*\\*\\*" "${option#--} = $url"
	done
	bad_env 'DLOCK_TTL in the environment' DLOCK_TTL="$url"
	bad_env "cannot read the config file" DLOCK_CONFIG=/no/such/file
	bad 'unknown option' --url="$url" job touch ran
	bad 'unknown option' -a hush job touch ran
	bad 'unknown option' -ahush job touch ran
	# A file of another kind, that was taken for a config file.
	bad_line 'a line is: option = value' 'hush'
	bad_line 'a line is: option = value' 'hush hush'
	bad_line 'a line is: option = value' 'Hush9/x='
	bad_line 'a line is: option = value' 'db1:6379:0:ann:hush'
	bad_line 'a line is: option = value' "$url"
	bad_line "unknown option 'password': did you mean password-(file|command)" 'password = hush'
	bad_line 'a # in the value' 'server = redis://:hu#hush@db1'
	bad_line 'no closing' 'label = "hush'
	bad_line "nonblock: neither 'yes' nor 'no'" 'nonblock = hush'
}

@test "lines of the config file" {
	bad_line 'a line is: option = value' 'ttl 5s'
	bad_line 'a line is: option = value' '= 5s'
	bad_line 'a config file has no .sections.' '[server]'
	bad_line 'no closing " at the end of the value' 'label = "x'
	bad_line 'a backslash in quotes that is not before " or \\: write \\\\ for one' 'label = "a\n"'
	bad_line 'something after the closing "' 'label = "a" b'
	bad_line 'a # in the value: put the value in double quotes' 'label = a#b'
	bad_line 'a byte 0x1b, which no line of text has: not a config file\?' $'label = \e[31m'
	bad_line 'a byte 0x0d' $'label = a\rttl = 5s'
	bad_line 'a line of 5000 bytes: 4096 is the most' "$(printf 'x%.0s' {1..5000})"
	bad_line "unknown option 'nonblok': did you mean nonblock\\?" 'nonblok = yes'
	bad_line "unknown option 'frobnicate' \\(dlock --help lists them\\)" 'frobnicate = yes'
	bad_line 'an option stands here by its long name, without dashes: ttl' '--ttl = 5s'
	bad_line 'an option stands here by its long name, without dashes: ttl' 't = 5s'
	bad_line 'ttl: it needs a value: ttl = DUR' 'ttl'
	bad_line "nonblock: neither 'yes' nor 'no'" 'nonblock = 1'
	bad_line 'config: it belongs on the command line' 'config = other.conf'
	bad_line 'help: it belongs on the command line' 'help'
	bad_line 'version: it belongs on the command line' 'version = yes'
	bad_line 'command: it belongs on the command line' 'command = touch ran'
	printf 'ttl = 5s\0\n' >conf
	judge 78 'conf:1: a byte 0x00' "$DLOCK" --config conf job touch ran
	printf '\xff\xfet\0t\0l\0' >conf
	judge 78 'conf:1: a byte 0x00' "$DLOCK" --config conf job touch ran
	head -c 4000 "$DLOCK" >conf
	judge 78 'conf:1: a byte 0x7f, .*not a config file\?' "$DLOCK" --config conf job touch ran
	printf 'ttl = 5s\nttl = 6s' >conf
	judge 78 'conf:2: ttl: line 1 has set it already' "$DLOCK" --config conf job touch ran
	printf 'wait = 5s\nnonblock' >conf
	judge 78 'conf:2: nonblock: wait in line 1 sets the same' "$DLOCK" --config conf job touch ran
}

# at_odds TEXT LINE...: a config file of these lines; the file is named, and what is wrong with them together.
at_odds() {
	printf '%s\n' "${@:2}" >conf
	judge 78 "conf: $1" env -u DLOCK_SERVER "$DLOCK" --config conf job touch ran
}

@test "settings of a config file that do not go together: the file is named" {
	at_odds '--slots does not go with several servers' 'slots = 2' "server = $URL_TCP $URL_UNIX"
	at_odds '--tls does not go with unix://' tls "server = $URL_UNIX"
	at_odds '--cacert is for TLS, and the server URL names one in clear' 'cacert = ca.pem' "server = $URL_TCP"
	at_odds '--cert and --key go together' 'cert = some.pem' "server = rediss://127.0.0.1:$REDIS_PORT"
	at_odds '--cert and --key go together' "server = rediss://127.0.0.1:$REDIS_PORT?cert=some.pem"
	at_odds '--sni is a name, not an address' 'sni = 127.0.0.1' "server = rediss://127.0.0.1:$REDIS_PORT"
	at_odds '--wait-replicas auto is for redis.sentinel' 'wait-replicas = auto' "server = $URL_TCP"
	at_odds '.* is named twice' "server = $URL_TCP $URL_TCP"
	at_odds '.*kill-after' 'ttl = 1s' 'kill-after = 5s' "server = $URL_TCP"
	at_odds '.*are no hash tag' 'prefix = {' "server = $URL_TCP"
	# What the command line adds to it is to blame, and no file is.
	echo 'slots = 2' >conf
	judge 64 '^dlock: --slots does not go' "$DLOCK" --config conf -S "$URL_TCP" -S "$URL_UNIX" job touch ran
}

@test "config files that cannot be read" {
	mkfifo pipe
	mkdir directory
	judge 78 "cannot read the config file 'missing': No such file" "$DLOCK" --config missing job touch ran
	judge 78 "cannot read the config file 'directory': a directory" "$DLOCK" --config directory job touch ran
	judge 78 "cannot read the config file 'pipe': a pipe" "$DLOCK" --config pipe job touch ran
	judge 78 "cannot read the config file '/dev/zero': more than 65536" "$DLOCK" --config /dev/zero job touch ran
	judge 78 'cannot read the config file .x\\x1b' "$DLOCK" --config $'x\e' job touch ran
	judge 78 'cannot read the config file .xxxx.*File name too long' "$DLOCK" \
		--config "$(printf 'x%.0s' {1..3000})" job touch ran
}

@test "the environment" {
	local value
	for value in ' 1' -1 1e3 soon 1y $'\e' "$(printf '9%.0s' {1..3000})"; do
		bad_env 'DLOCK_TTL in the environment: (not a duration|too long)' DLOCK_TTL="$value"
	done
	bad_env 'DLOCK_PREFIX in the environment: a prefix has at most 512 bytes, not 513' \
		DLOCK_PREFIX="$(printf 'x%.0s' {1..513})"
	bad '--prefix: a prefix has at most 512 bytes, not 600' --prefix "$(printf 'x%.0s' {1..600})" job touch ran
	bad_line 'prefix: a prefix has at most 512' "prefix = $(printf 'x%.0s' {1..600})"
	bad_env 'are no hash tag' DLOCK_PREFIX='{'
	bad_env "cannot read the config file 'missing' \\(DLOCK_CONFIG\\): No such file" DLOCK_CONFIG=missing
}
