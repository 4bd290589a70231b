-- False negative rate: the share predicted negative among the positive rows.
-- views: _groups.sql
-- n: label AND pred IS NOT NULL
SELECT slice, share(NOT pred, label) AS value
FROM rows
GROUP BY slice
