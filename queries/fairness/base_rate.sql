-- Base rate: the share of positive rows among the rows with a known label.
-- views: _groups.sql
SELECT slice, share(label, true) AS value
FROM rows
GROUP BY slice
