-- False omission rate: the share of positive rows among the rows predicted negative.
-- views: _groups.sql
SELECT slice, share(label, NOT pred) AS value
FROM rows
GROUP BY slice
