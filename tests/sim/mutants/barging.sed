# src/store/lua/acquire.lua
# Who comes while the lock is free takes it, whoever waits.
s/^if waiting and serve(token, false) or .* then/if has_room(wanted) then/
