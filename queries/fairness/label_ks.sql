-- The largest distance between two groups' shares of any label. Of all comparisons the largest.
-- views: _groups.sql
-- views: _classes.sql
WITH distances AS (
    SELECT slice, max(abs(mine - theirs)) AS distance
    FROM label_mixes
    GROUP BY slice, a, b
)
SELECT slice, max(distance) AS value
FROM distances
GROUP BY slice
