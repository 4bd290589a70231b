-- The root of the mean squared difference of prediction and label, among rows where both are known.
-- views: _groups.sql
SELECT slice, sqrt(mean_of(pow(pred - label, 2), true)) AS value
FROM rows
GROUP BY slice
