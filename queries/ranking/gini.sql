-- The Gini index of how often items are shown: half the mean absolute difference of two items'
-- shares, over all ordered pairs of different items, times the number of items.
-- views: _exposure.sql
-- n of: catalogue
-- n: true
WITH known AS (FROM catalogue)
SELECT a.slice, sum(abs(a.share - b.share)) / 2 / nullif(count(DISTINCT a.item) - 1, 0) AS value
FROM known AS a
JOIN known AS b ON b.slice IS NOT DISTINCT FROM a.slice
GROUP BY a.slice
