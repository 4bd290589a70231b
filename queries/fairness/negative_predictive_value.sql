-- Negative predictive value: the share of negative rows among the rows predicted negative.
-- views: _groups.sql
-- n: NOT pred AND label IS NOT NULL
SELECT slice, share(NOT label, NOT pred) AS value
FROM rows
GROUP BY slice
