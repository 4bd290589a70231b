-- Precision: the share of positive rows among the rows predicted positive.
-- views: _groups.sql
-- n: pred AND label IS NOT NULL
SELECT slice, share(label, pred) AS value
FROM rows
GROUP BY slice
