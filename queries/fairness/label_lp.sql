-- The distance of order p between the label distributions of two groups. Of all comparisons the largest.
-- views: _groups.sql
-- views: _classes.sql
WITH distances AS (
    SELECT slice, coalesce(getvariable('p'), 2) AS p,
           pow(sum(pow(abs(mine - theirs), p)), 1 / p) AS distance
    FROM label_mixes
    GROUP BY slice, a, b
)
SELECT slice, max(distance) AS value
FROM distances
GROUP BY slice
