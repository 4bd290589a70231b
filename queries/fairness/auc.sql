-- AUC: the share of pairs of a positive and a negative row in which the positive is in the higher bin.
-- Pairs in the same bin count half. Undefined without a pair.
-- views: _groups.sql
-- views: _scores.sql
SELECT slice,
       sum(weight * CASE WHEN positive > negative THEN 1 WHEN positive = negative THEN 0.5 ELSE 0 END)
           / sum(weight) AS value
FROM row_pairs
GROUP BY slice
