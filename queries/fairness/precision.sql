-- Precision: the share of positive rows among the rows predicted positive.
-- views: _groups.sql
SELECT slice, share(label, pred) AS value
FROM rows
GROUP BY slice
