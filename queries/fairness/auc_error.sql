-- Bound of the error of the AUC: half the share of pairs of a positive and a negative row that are in the
-- same bin, if that bin has a width.
-- views: _groups.sql
-- views: _scores.sql
SELECT slice, share(positive = negative AND wide, true) / 2 AS value
FROM row_pairs
GROUP BY slice
