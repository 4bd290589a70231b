-- Total variation between the label distributions of two groups: the sum of the differences between the
-- two shares of a label, over the labels with a larger share in the first group than in the second. Of all
-- comparisons the largest.
-- views: _groups.sql
-- views: _classes.sql
WITH distances AS (
    SELECT slice, sum(CASE WHEN mine < theirs THEN 0 ELSE mine - theirs END) AS distance
    FROM label_mixes
    GROUP BY slice, a, b
)
SELECT slice, max(distance) AS value
FROM distances
GROUP BY slice
