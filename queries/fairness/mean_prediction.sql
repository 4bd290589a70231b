-- The mean of the known predictions.
-- views: _groups.sql
SELECT slice, mean_of(pred, true) AS value
FROM rows
GROUP BY slice
