-- The mean absolute difference of prediction and label, among rows where both are known.
-- views: _groups.sql
SELECT slice, mean_of(abs(pred - label), true) AS value
FROM rows
GROUP BY slice
