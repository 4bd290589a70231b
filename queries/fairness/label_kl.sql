-- Kullback-Leibler divergence of the label distribution of a group from that of the reference, with
-- natural logarithms. Of all comparisons the largest; without a reference every pair of groups is compared
-- in both orders.
-- views: _groups.sql
-- views: _classes.sql
WITH distances AS (
    SELECT slice, sum(CASE WHEN mine = 0 THEN 0 ELSE mine * ln(mine / theirs) END) AS distance
    FROM label_mixes
    GROUP BY slice, a, b
)
SELECT slice, max(distance) AS value
FROM distances
GROUP BY slice
