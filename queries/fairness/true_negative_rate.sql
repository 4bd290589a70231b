-- True negative rate: the share predicted negative among the negative rows.
-- views: _groups.sql
-- n: NOT label AND pred IS NOT NULL
SELECT slice, share(NOT pred, NOT label) AS value
FROM rows
GROUP BY slice
