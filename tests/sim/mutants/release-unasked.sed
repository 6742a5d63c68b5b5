# src/store/lua/release.lua
# Who releases does not look whether the lock is its own.
/^elseif value == token or value == 'dlock!broken:' .. token then/s/value == token or .* then/value then/
