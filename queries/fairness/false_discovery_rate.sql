-- False discovery rate: the share of negative rows among the rows predicted positive.
-- views: _groups.sql
-- n: pred AND label IS NOT NULL
SELECT slice, share(NOT label, pred) AS value
FROM rows
GROUP BY slice
