-- False omission rate: the share of positive rows among the rows predicted negative.
-- views: _groups.sql
-- n: NOT pred AND label IS NOT NULL
SELECT slice, share(label, NOT pred) AS value
FROM rows
GROUP BY slice
