-- SPDX-License-Identifier: MIT
-- words.lua - prints the ten most frequent words of a file.
--
--      tallytree lua words.lua FILE

local function read_words(path)
    local words = {}
    for line in io.lines(path) do
        for word in line:lower():gmatch("%a+") do words[#words + 1] = word end
    end
    return words
end

local function count(words)
    local counts = {}
    for _, word in ipairs(words) do counts[word] = (counts[word] or 0) + 1 end
    return counts
end

local function print_counts(counts)
    local words = {}
    for word in pairs(counts) do words[#words + 1] = word end
    local function before(a, b)
        if counts[a] ~= counts[b] then return counts[a] > counts[b] end
        return a < b
    end
    table.sort(words, before)
    for i = 1, math.min(10, #words) do
        print(("%7d %s"):format(counts[words[i]], words[i]))
    end
end

print_counts(count(read_words(arg[1])))
