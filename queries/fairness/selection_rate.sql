-- Selection rate: the share of rows predicted positive among the rows with a known prediction.
-- views: _groups.sql
SELECT slice, share(pred, true) AS value
FROM rows
GROUP BY slice
