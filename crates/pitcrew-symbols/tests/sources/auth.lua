local token = require("core.token")
local M = {}
local limit = 3
-- Validates a token.
function M.validate(token, flags)
  local inner = 1
end
function M.Store:get(id) end
local function helper(a, ...) end
M.create = function(key) return key end
count = 0
return M
