-- Gini coefficient of a score: over all pairs of a positive and a negative row, the share in which the
-- positive is in the higher bin minus the share in which the negative is.
-- views: _groups.sql
-- views: _scores.sql
SELECT slice, sum(weight * sign(positive - negative)) / sum(weight) AS value
FROM row_pairs
GROUP BY slice
